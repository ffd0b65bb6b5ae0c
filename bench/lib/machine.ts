export { machine } from '../../dist/benchmark/machine.js';
