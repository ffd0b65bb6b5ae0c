#!/usr/bin/env node
import { mapStackTraces } from '../dist/cli/source-maps.js';

// Before anything else is loaded, so that its faults are mapped, too.
mapStackTraces();
const { main } = await import('../dist/cli.js');

process.exitCode = await main(process.argv.slice(2));
