declare module 'asl-validator' {
  /** Checks a state machine's definition against the Amazon States Language. */
  export default function validate(definition: object): {
    isValid: boolean;
    errorsText(separator?: string): string;
  };
}
