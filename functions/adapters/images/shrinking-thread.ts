import { parentPort, workerData } from 'node:worker_threads';
import { type ShrinkRequest, shrinkImage } from './shrink-image.ts';

// Entry point of a worker thread: it shrinks one image and ends.
const { image, target } = workerData as ShrinkRequest;
parentPort?.postMessage(await shrinkImage(image, target));
