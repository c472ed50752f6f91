// How the page is built: into `dist`, without anything that the strict policy of the server refuses (no inline
// script, no inline style, no data that is fetched from elsewhere).
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  base: "/",
  experimental: {
    // The files name each other by where they lie, so that they work below any path; the server puts its base path
    // before what `index.html` names.
    renderBuiltUrl: (name, { hostType }) => (hostType === "html" ? `/${name}` : { relative: true }),
  },
  build: {
    target: ["chrome122", "firefox125", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // The names carry a hash of the content, so they may be kept by browsers for ever.
    assetsDir: "assets",
    chunkSizeWarningLimit: 900,
    sourcemap: false,
  },
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    environment: "node",
    testTimeout: 60_000,
  },
} as Parameters<typeof defineConfig>[0]);
