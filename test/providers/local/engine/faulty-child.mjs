// Stands in for the process of a local engine. What it does wrong is the name of the model's member `fault`.
const faults = {
  silent: () => undefined,
  dies: () => {
    process.stderr.write('/somewhere/csrc/model.cc:Init:12 the network is upside down\n', () => process.exit(255));
  },
  missing: () => process.send({ type: 'unusable', reason: "Cannot find package 'sherpa-onnx-node'", isMissing: true }),
  alien: () => process.send({ type: 'unusable', reason: 'Could not find sherpa-onnx-node. Tried', isMissing: true }),
};
let fault = '';
process.on('disconnect', () => process.exit());
process.on('message', (message) => {
  if (message.type === 'load') {
    fault = message.load.config.fault;
    if (fault in faults) faults[fault]();
    else if (fault === 'tells idleMs') {
      process.send({ type: 'ready', sampleRateHz: message.load.idleMs ?? 0, speakers: 1 });
    } else process.send({ type: 'ready', sampleRateHz: 16_000, speakers: 1 });
  } else if (fault === 'stalls') {
    // Says nothing more.
  } else if (fault === 'idles') {
    // Says so at once, whatever is asked of it.
    process.send({ type: 'idle' });
    if (message.type === 'open') process.send({ type: 'done', id: message.id });
  } else if (message.type === 'ping') {
    process.send({ type: 'pong' });
  } else if (fault === 'dies later' && message.type !== 'close') {
    process.stderr.write('out of memory\n', () => process.exit(134));
  }
});
