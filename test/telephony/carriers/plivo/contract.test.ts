import { describeContract } from '../socket-contract.js';
import { openRig } from './support.js';

describeContract('Plivo', openRig);
