// Begins.

import { Shell } from "../components/shell.mjs";
import { app } from "./app.mjs";
import { h, render } from "./html.mjs";
import { listenForKeys } from "./keys.mjs";
import { applyTheme } from "./theme.mjs";

applyTheme();
listenForKeys();
const place = document.getElementById("app");
if (place) render(h(Shell, {}), place);
void app.start();
