import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';

/** Loaded with the first call of a model of Bedrock: half as much again as replies load without, and many stages have others. */
export const makeProvider = createAmazonBedrock;
