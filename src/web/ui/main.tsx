import { render } from "preact";
import { App } from "./app.tsx";
import { followKeys } from "./keys.ts";
import { followServer } from "./live/stream.ts";
import { followPrinter } from "./parts/printing.ts";
import { startClock } from "./parts/time.tsx";
import { followAddress } from "./live/route.ts";
import { followTheme } from "./parts/theme.ts";

followTheme();
followAddress();
followServer();
followKeys();
followPrinter();
startClock();

const root = document.getElementById("page");
if (root) render(<App />, root);
