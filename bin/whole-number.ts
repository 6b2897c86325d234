import { InvalidArgumentError } from 'commander';

/** @param what completes the error "It must be …" */
export const wholeNumber =
  (what: string, least = 0, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < least || number > most)
      throw new InvalidArgumentError(`It must be ${what}.`);
    return number;
  };

export const readPort = wholeNumber('a port, 0 to 65535', 0, 65_535);
