/** A run cannot use its data folder. The operator can choose another one. */
export class UnusableFolder extends Error {
  constructor(folder: string, problem: string) {
    super(`The data folder ${folder} ${problem}`);
    this.name = 'UnusableFolder';
  }
}
