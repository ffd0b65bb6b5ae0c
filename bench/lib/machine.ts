export { machine } from '../../dist/benchmark/report.js';
