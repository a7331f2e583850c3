import "./styles/tokens.css";
import "./styles/base.css";
import "./shell/shell.css";
import { App } from "./app.ts";
import { startTheme } from "./shell/theme.ts";

startTheme();
const served = document.querySelector('meta[name="blockscale-server"]') ? "served" : "static";
void new App(document.body, { served }).start();
// A server of one's own is there whenever the page is.
if (served === "static" && import.meta.env.PROD) keepForOffline();

function keepForOffline(): void {
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register("sw.js").catch(() => undefined);
}
