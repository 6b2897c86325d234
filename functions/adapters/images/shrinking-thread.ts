import { parentPort, workerData } from 'node:worker_threads';
import { type ShrinkRequest, shrinkImage } from './shrink-image.ts';

const { image, target } = workerData as ShrinkRequest;
parentPort?.postMessage(await shrinkImage(image, target));
