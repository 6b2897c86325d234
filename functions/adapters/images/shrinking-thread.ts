import { parentPort, workerData } from 'node:worker_threads';
import { type Shrinking, shrinkImage } from './shrink-image.ts';

// The body of a worker thread: it shrinks one image and ends.
const { image, most } = workerData as Shrinking;
parentPort?.postMessage(await shrinkImage(image, most));
