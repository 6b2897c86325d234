/** A call of a model. `callType` is `chat`, or the type of the reasoning step that made the call. */
export type CountedCall = [model: string, callType: string, promptTokens: number, completionTokens: number];
