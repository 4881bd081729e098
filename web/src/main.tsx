import "./styles/index.css";

import { render } from "preact";

import { App } from "./shell/app.js";
import { installKeys } from "./commands.js";
import { startSession, watchCaller } from "./data/session.js";
import { installRouter } from "./router.js";
import { installTheme } from "./theme.js";

installTheme();
installRouter();
installKeys();
watchCaller();
void startSession();
const root = document.getElementById("page");
if (root !== null) render(<App />, root);
