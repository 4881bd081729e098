/** The hooks for React. */

import { useEffect, useMemo, useState } from "react";

import { createHooks } from "./hooks.js";

export const { useSpace, useInbox, useAgents, useDecisions } = createHooks({ useEffect, useMemo, useState });
