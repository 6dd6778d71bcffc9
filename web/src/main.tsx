import { render } from "preact";
import "chessground/assets/chessground.base.css";
import "chessground/assets/chessground.cburnett.css";
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/board.css";
import "./style/pages.css";
import { report } from "./api";
import { App } from "./app";
import { applyTheme } from "./theme";

/** The token has become a cookie: it need not stay in sight. */
function hideToken(): void {
  if (location.search.includes("token=")) history.replaceState(null, "", `/${location.hash}`);
}

if (report && !location.hash) location.hash = report.start;
applyTheme();
hideToken();
render(<App />, document.getElementById("app")!);
