#!/usr/bin/env node
// Before anything is loaded: stack traces then name files and lines of src/.
process.setSourceMapsEnabled(true);
const { main } = await import('../dist/cli.js');

process.exitCode = await main(process.argv.slice(2));
