/** Stands in for the package onnxruntime-node: a "model" is a JSON file that says what it takes and gives. */
// oxlint-disable-next-line typescript/no-extraneous-class
export class Tensor {
  constructor(type, data, dims) {
    if (type !== 'float32' || data.length !== dims.reduce((a, b) => a * b, 1)) throw new Error('wrong tensor');
    Object.assign(this, { data, dims });
  }

  get size() {
    return this.data.length;
  }
}

export class InferenceSession {
  static async create(bytes) {
    const model = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (model.broken) throw new Error('not a model');
    return Object.assign(new InferenceSession(), {
      model,
      inputNames: model.inputs ?? [model.input],
      outputNames: model.outputs ?? ['out'],
    });
  }

  async run(feeds) {
    const { dims, data } = feeds[this.model.input];
    if (this.model.dies) process.exit(3);
    if (JSON.stringify(dims) !== JSON.stringify(this.model.dims)) throw new Error(`dims ${dims}`);
    const mean = Math.abs(data.reduce((sum, value) => sum + value, 0) / data.length);
    return { out: { data: this.model.tellsMean ? [mean] : this.model.gives } };
  }
}
