;; The matrix product of Silero's layers: out[o] = bias[o] + sum of weights[o][i] * x[i], at least 0 if relu.
;; Weights lie in blocks of 16 outputs (SILERO_BLOCK in src/providers/vad/silero/silero-model.ts): for each input, its 16
;; weights. So each weight is read once, in order, and a block's 16 sums stay in four registers.
;; Addresses are in bytes; outputs is a multiple of 16. The memory holds weights, inputs and outputs.
(module
  (memory (export "memory") 14)
  (func (export "dense")
    (param $weights i32) (param $bias i32) (param $x i32) (param $out i32)
    (param $inputs i32) (param $outputs i32) (param $relu i32)
    (local $at i32) (local $xEnd i32) (local $biasEnd i32)
    (local $value v128) (local $floor v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128)
    (local.set $xEnd (i32.add (local.get $x) (i32.shl (local.get $inputs) (i32.const 2))))
    (local.set $biasEnd (i32.add (local.get $bias) (i32.shl (local.get $outputs) (i32.const 2))))
    (local.set $floor
      (select
        (v128.const f32x4 0 0 0 0)
        (v128.const f32x4 -inf -inf -inf -inf)
        (local.get $relu)))
    (loop $block
      (local.set $sum0 (v128.load (local.get $bias)))
      (local.set $sum1 (v128.load offset=16 (local.get $bias)))
      (local.set $sum2 (v128.load offset=32 (local.get $bias)))
      (local.set $sum3 (v128.load offset=48 (local.get $bias)))
      (local.set $at (local.get $x))
      (loop $input
        (local.set $value (v128.load32_splat (local.get $at)))
        (local.set $sum0
          (f32x4.add (local.get $sum0) (f32x4.mul (local.get $value) (v128.load (local.get $weights)))))
        (local.set $sum1
          (f32x4.add (local.get $sum1) (f32x4.mul (local.get $value) (v128.load offset=16 (local.get $weights)))))
        (local.set $sum2
          (f32x4.add (local.get $sum2) (f32x4.mul (local.get $value) (v128.load offset=32 (local.get $weights)))))
        (local.set $sum3
          (f32x4.add (local.get $sum3) (f32x4.mul (local.get $value) (v128.load offset=48 (local.get $weights)))))
        (local.set $weights (i32.add (local.get $weights) (i32.const 64)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br_if $input (i32.lt_u (local.get $at) (local.get $xEnd))))
      (v128.store (local.get $out) (f32x4.pmax (local.get $sum0) (local.get $floor)))
      (v128.store offset=16 (local.get $out) (f32x4.pmax (local.get $sum1) (local.get $floor)))
      (v128.store offset=32 (local.get $out) (f32x4.pmax (local.get $sum2) (local.get $floor)))
      (v128.store offset=48 (local.get $out) (f32x4.pmax (local.get $sum3) (local.get $floor)))
      (local.set $bias (i32.add (local.get $bias) (i32.const 64)))
      (local.set $out (i32.add (local.get $out) (i32.const 64)))
      (br_if $block (i32.lt_u (local.get $bias) (local.get $biasEnd))))))
