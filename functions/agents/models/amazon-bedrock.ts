import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';

/** Loaded with the first call of a model of Bedrock: a fifth of what replies would load, and many stages have others. */
export const makeProvider = createAmazonBedrock;
