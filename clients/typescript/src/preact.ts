/** The hooks for Preact, without an alias of React. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { createHooks } from "./hooks.js";

export const { useSpace, useInbox, useAgents, useDecisions } = createHooks({ useEffect, useMemo, useState });
