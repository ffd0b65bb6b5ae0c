import { describeContract } from '../socket-contract.js';
import { openRig } from './support.js';

describeContract('Telnyx', openRig);
