export type Cancel = () => void;

export interface Clock {
  now(): Date;
  after(milliseconds: number, call: () => void): Cancel;
  every(milliseconds: number, call: () => void): Cancel;
}
