import { render } from "preact";
import { signal } from "@preact/signals";
const n = signal(1);
const place = document.getElementById("page");
if (place) render(<p onClick={() => n.value++}>Hello {n}</p>, place);
