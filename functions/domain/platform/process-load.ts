/** How busy this process is. */
export interface ProcessLoad {
  /** @returns called later, the share of the time since then in which the process has computed, 0 to 1 */
  measure(): () => number;
}
