;; The inner loop of resampling, described in src/audio/dsp/polyphase.ts. Coefficients and samples are whole numbers in
;; doubles, small enough that every sum is exact, so the order of summing changes nothing.
;; Addresses are in bytes; taps is a multiple of 4. The memory holds samples, outputs and coefficients.
(module
  (memory (export "memory") 1 512)
  (func (export "polyphase")
    (param $history i32) (param $coefficients i32) (param $out i32) (param $count i32)
    (param $phase i32) (param $phases i32) (param $step i32) (param $rows i32) (param $taps i32)
    (local $whole i32) (local $rest i32) (local $outEnd i32) (local $row i32)
    (local $x i32) (local $h i32) (local $end i32) (local $evenEnd i32) (local $value i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local.set $whole (i32.shl (i32.div_u (local.get $step) (local.get $phases)) (i32.const 3)))
    (local.set $rest (i32.rem_u (local.get $step) (local.get $phases)))
    (local.set $taps (i32.shl (local.get $taps) (i32.const 3)))
    (local.set $outEnd (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 1))))
    (block $done
      (loop $output
        (br_if $done (i32.ge_u (local.get $out) (local.get $outEnd)))
        (local.set $row (local.get $phase))
        (if (i32.ne (local.get $phases) (local.get $rows))
          (then
            (local.set $row
              (i32.wrap_i64
                (i64.div_u
                  (i64.mul (i64.extend_i32_u (local.get $phase)) (i64.extend_i32_u (local.get $rows)))
                  (i64.extend_i32_u (local.get $phases)))))))
        (local.set $x (local.get $history))
        (local.set $h (i32.add (local.get $coefficients) (i32.mul (local.get $row) (local.get $taps))))
        (local.set $end (i32.add (local.get $h) (local.get $taps)))
        ;; Eight taps at a time up to here, then four if they are left.
        (local.set $evenEnd (i32.add (local.get $h) (i32.and (local.get $taps) (i32.const -64))))
        (local.set $a (v128.const f64x2 0 0))
        (local.set $b (v128.const f64x2 0 0))
        (local.set $c (v128.const f64x2 0 0))
        (local.set $d (v128.const f64x2 0 0))
        (block $summed
          (loop $eight
            (br_if $summed (i32.ge_u (local.get $h) (local.get $evenEnd)))
            (local.set $a
              (f64x2.add (local.get $a) (f64x2.mul (v128.load (local.get $h)) (v128.load (local.get $x)))))
            (local.set $b
              (f64x2.add
                (local.get $b)
                (f64x2.mul (v128.load offset=16 (local.get $h)) (v128.load offset=16 (local.get $x)))))
            (local.set $c
              (f64x2.add
                (local.get $c)
                (f64x2.mul (v128.load offset=32 (local.get $h)) (v128.load offset=32 (local.get $x)))))
            (local.set $d
              (f64x2.add
                (local.get $d)
                (f64x2.mul (v128.load offset=48 (local.get $h)) (v128.load offset=48 (local.get $x)))))
            (local.set $h (i32.add (local.get $h) (i32.const 64)))
            (local.set $x (i32.add (local.get $x) (i32.const 64)))
            (br $eight)))
        (if (i32.lt_u (local.get $h) (local.get $end))
          (then
            (local.set $a
              (f64x2.add (local.get $a) (f64x2.mul (v128.load (local.get $h)) (v128.load (local.get $x)))))
            (local.set $b
              (f64x2.add
                (local.get $b)
                (f64x2.mul (v128.load offset=16 (local.get $h)) (v128.load offset=16 (local.get $x)))))))
        (local.set $a
          (f64x2.add
            (f64x2.add (local.get $a) (local.get $b))
            (f64x2.add (local.get $c) (local.get $d))))
        ;; 2^-24 is 1 / SINC_SCALE of src/audio/dsp/sinc-table.ts.
        (local.set $value
          (i32.trunc_sat_f64_s
            (f64.floor
              (f64.add
                (f64.mul
                  (f64.add (f64x2.extract_lane 0 (local.get $a)) (f64x2.extract_lane 1 (local.get $a)))
                  (f64.const 0x1p-24))
                (f64.const 0.5)))))
        (local.set $value
          (select (i32.const 32767) (local.get $value) (i32.gt_s (local.get $value) (i32.const 32767))))
        (local.set $value
          (select (i32.const -32768) (local.get $value) (i32.lt_s (local.get $value) (i32.const -32768))))
        (i32.store16 (local.get $out) (local.get $value))
        (local.set $out (i32.add (local.get $out) (i32.const 2)))
        (local.set $history (i32.add (local.get $history) (local.get $whole)))
        (local.set $phase (i32.add (local.get $phase) (local.get $rest)))
        (if (i32.ge_u (local.get $phase) (local.get $phases))
          (then
            (local.set $phase (i32.sub (local.get $phase) (local.get $phases)))
            (local.set $history (i32.add (local.get $history) (i32.const 8)))))
        (br $output)))))
