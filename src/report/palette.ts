/** Colours of the report and of the web console: they differ in lightness too, and text keeps its contrast. */

export const LIGHT = `
--page: #ffffff; --panel: #f6f8fa; --line: #d0d7de; --ink: #1f2328; --soft: #59636e;
--kept: #1a7f37; --linked: #0969da; --dropped: #bc4c00; --other: #8250df; --heat: #0550ae; --heat-max: .6;
--del: #ffebe9; --del-line: #cf222e; --ins: #dafbe1; --ins-line: #1a7f37;
`

export const DARK = `
--page: #0d1117; --panel: #161b22; --line: #30363d; --ink: #e6edf3; --soft: #9198a1;
--kept: #3fb950; --linked: #58a6ff; --dropped: #f0883e; --other: #bc8cff; --heat: #79c0ff; --heat-max: .48;
--del: #4a1d20; --del-line: #ff7b72; --ins: #12361f; --ins-line: #56d364;
`
