const wholeNumbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
export const whole = (value: number): string => wholeNumbers.format(value);

export const money = (value: number): string =>
  value === 0 || value >= 1 ? value.toFixed(2) : value.toPrecision(2);
