/** Texts of a model or a user that would run a script, or request an address, if a page read them as HTML. */
const run = "document.title='taken'";
const elsewhere = 'https://elsewhere.example/pixel';

/** One of each kind, for every view. */
export const attacks: readonly string[] = [
  `<script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `<svg onload="${run}"><use href="${elsewhere}#a"/></svg>`,
  `[link](javascript:${run})`,
  `[link](JaVa&#115;cript&colon;${run})`,
  `[link](data:text/html,<script>${run}</script>)`,
  `[link](blob:${elsewhere})`,
  `![picture](${elsewhere}.png)`,
  `[![picture](${elsewhere}.png)](vbscript:${run})`,
  `<style>@import "${elsewhere}.css"; body { background: url(${elsewhere}) }</style>`,
  `<iframe srcdoc="<script>parent.${run}</script>" src="${elsewhere}"></iframe>`,
  `> - **[*nested* <b onclick="${run}">b</b>](javascript:${run})** \`</code><script>${run}</script>\``,
  `\`\`\`"><img/src=x/onerror=${run}>\n</code></pre><script>${run}</script>\n\`\`\``,
  `| <base href="${elsewhere}"> | <meta http-equiv="refresh" content="0;url=${elsewhere}"> |\n|:-"onclick=${run}-|-|\n| <form action="javascript:${run}"><input autofocus onfocus="${run}"></form> | <object data="${elsewhere}"></object> |`,
];

const addresses = [
  `javascript:${run}`,
  `JAVASCRIPT:${run}`,
  ` \tjavascript:${run}`,
  `java\tscript:${run}`,
  `java\nscript:${run}`,
  `\u0001javascript:${run}`,
  `javascript&colon;${run}`,
  `&#106;avascript:${run}`,
  `&#x6A&#x61;vascript&#x3A;${run}`,
  `java%0ascript:${run}`,
  `javascript://host/%0a${run}`,
  `vbscript:${run}`,
  `livescript:${run}`,
  `feed:javascript:${run}`,
  `view-source:javascript:${run}`,
  `data:text/html,<script>${run}</script>`,
  `data:text/html;base64,PHNjcmlwdD5kb2N1bWVudC50aXRsZT0ndGFrZW4nPC9zY3JpcHQ+`,
  `data:image/svg+xml,<svg onload="${run}"/>`,
  `blob:null/1`,
  `file:///etc/passwd`,
  `//elsewhere.example/pixel`,
  `https://elsewhere.example/"onmouseover="${run}`,
];

const shapes: readonly ((address: string) => string)[] = [
  (address) => `[link](${address})`,
  (address) => `[link](<${address}> "title\\" onclick=${run}")`,
  (address) => `![picture](${address})`,
  (address) => `[![picture](${address})](${address})`,
  (address) => `<${address}>`,
  (address) => `[link][1]\n\n[1]: ${address}`,
  (address) => `"><a href="${address}">link</a>`,
  (address) => `# ${address} **[link](${address}**)`,
  (address) => `1. | [link](${address}) |\n   |---|\n   | <a href='${address}'>`,
];

const tags = [
  'img src=x onerror',
  'svg onload',
  'body onload',
  'details open ontoggle',
  'video autoplay onloadstart',
  'input autofocus onfocus',
  'marquee onstart',
  'a id=x tabindex=1 onfocus',
  'math><a xlink:href=javascript: onclick',
];

/** Over 200: each address in each shape, and tags with handlers in each place where a parser might let them through. */
export const manyAttacks: readonly string[] = [
  ...addresses.flatMap((address) => shapes.map((shape) => shape(address))),
  ...tags.flatMap((tag) => [
    `<${tag}="${run}">`,
    `<!--><${tag}=${run}>-->`,
    `\`<${tag}="${run}">`,
    `[<${tag}="${run}">](${elsewhere})`,
    `~~~ "><${tag}="${run}">\n<${tag}="${run}">`,
  ]),
];
