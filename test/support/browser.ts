import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Debian's package, unless the variable CHROMIUM names another program. */
const program = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Undefined on a machine without a browser. */
export const browserPath = existsSync(program) ? program : undefined;

export interface BrowserPage {
  page: Page;
  context: BrowserContext;
  /** What went wrong in the page so far: errors of the console and uncaught ones. */
  problems: string[];
}

/** @throws Error if the machine has no browser */
export async function startBrowser() {
  if (browserPath === undefined) throw new Error('This machine has no Chromium');
  const browser: Browser = await chromium.launch({
    executablePath: browserPath,
    // Chromium refuses to run as root with its sandbox, for instance in a container.
    chromiumSandbox: process.getuid?.() !== 0,
  });
  return {
    /** Opens a window with a session of its own. */
    async open(options: Parameters<Browser['newContext']>[0] = {}): Promise<BrowserPage> {
      const context = await browser.newContext(options);
      // Less than a test has, so that a failure names its step.
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('console', (line) => {
        if (line.type() === 'error' || line.type() === 'warning') problems.push(line.text());
      });
      page.on('pageerror', (error) => problems.push(String(error)));
      return { page, context, problems };
    },
    close: () => browser.close(),
  };
}
