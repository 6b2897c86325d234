/** A call of a model: [model, type of step or chat, prompt tokens, completion tokens]. */
export type CountedCall = [model: string, callType: string, promptTokens: number, completionTokens: number];
