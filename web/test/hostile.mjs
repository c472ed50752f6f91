// One document with everything that a text of the model must not be able to do, for unit and browser tests alike.

/** Where hostile things would call home to. */
export const OUTSIDE = "http://outside.invalid";

/** The document. */
export const HOSTILE = `# <img src=x onerror="window.hit('heading')">

<script>window.hit('script')</script>

<style>body { background: url(${OUTSIDE}/css) }</style>

<iframe srcdoc="<script>parent.hit('frame')</script>"></iframe> <svg onload="window.hit('svg')"></svg>

![a picture](${OUTSIDE}/picture.png) ![data](data:text/html,<script>1</script>)

![by reference][picture]

[picture]: ${OUTSIDE}/reference.png
[bad]: javascript:window.hit('reference')

[click](javascript:window.hit('link')) [click](JaVaScRiPt:window.hit('case')) [click](data:text/html,hi) [bad]

[click](&#106;avascript:window.hit('entity')) [click](vbscript:x) [click](file:///etc/passwd)

<javascript:window.hit('auto')> <a href="javascript:window.hit('anchor')">raw</a> <form action="${OUTSIDE}/form"><button>x</button></form>

https://good.example/path [https://good.example](https://evil.example/)

| <b onclick="window.hit('cell')">a</b> | ![x](${OUTSIDE}/cell.png) |
|---|---|
| [x](javascript:window.hit('table')) | <img src="${OUTSIDE}/td"> |

\`\`\`html"><script>window.hit('fence')</script>
<script>window.hit('code')</script>
\`\`\`

- [ ] <input autofocus onfocus="window.hit('task')">
- <details open ontoggle="window.hit('details')"><summary>x</summary></details>

<link rel="stylesheet" href="${OUTSIDE}/style.css"><meta http-equiv="refresh" content="0;url=${OUTSIDE}/meta"><base href="${OUTSIDE}/">
`;
