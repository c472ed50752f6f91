// Where the page begins.
import "./styles/index.css";
import { createRoot } from "react-dom/client";
import { applyAppearance } from "./appearance";
import { installShell } from "./install";
import { App } from "./views/app";

applyAppearance();
installShell();
const place = document.getElementById("page");
if (place !== null) createRoot(place).render(<App />);
