/** Prints a line of figures. */
export const print = (figures: Record<string, unknown>): void => console.log(JSON.stringify(figures));
