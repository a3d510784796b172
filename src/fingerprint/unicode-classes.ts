/**
 * Unicode 15.0: what separates words, scripts written without spaces, and simple lower case.
 *
 * Made by `scripts/make-text-classes.ts`; change that, never this. Numbers are in base 36. Spans are
 * pairs of gap and length; cases are runs of gap, count, step and shift. Unicode data is copyright
 * Unicode, Inc. and used under the Unicode License.
 */

export const separatorSpans =
  '0 1c a 7 q 4 1 1 q 1b 1 2 1 4 2 1 1 3 2 1 3 1 n 1 v 1 cq 4 c e 5 7 1 1 1 h 39 1 8 1 5 2 1 ' +
  '1 32 1 3v 1 5z 6 15 2 2 3 1a 1 1 1 2 1 2 1 18 2 h a b 1 1 3 22 4 2u 1 9 1 a 1 j 2 1 e 6g 4 ' +
  '4 2 1c f v 1 15 1 63 2 a 1 3l 2 6 2 1 1 3c 1 3d 2 3i 1 3m 8 3g 1 7 1 4 1 5m 1 15 1 3e 1 22 ' +
  '1 f 1 a 2 4l n 2 6 k 1 1 1 1 1 1 4 1z 1 1k 8 1 6 1 d 33 6 26 2 2j 1 h0 9 13 a 2u 1 h8 2 h ' +
  '1 q 2 26 3 1z 2 4d 3 1 4 10 b 8l 1 3 2 48 y u 2 3k 7 1 6 4s h 9 b 3h 4 1n 5 1q 2 1s 8 b 1 ' +
  'kp 1 1 3 b 3 d 3 d 3 d 2 1 b 5 q 5 g 2 j 1 b q 5 b 5 h x 1r 2 1 4 1 2 a 1 1 3 5 6 1 1 1 1 ' +
  '1 1 4 1 b 2 4 5 5 4 1 1 1m 2 4 if p b 29 26 m hi u rk 2 w 1 2x 6d 6 e 4 1 2 34 1 3z 1b 1 ' +
  '1a y q 1 2h c 5y q c 4 5 3 p f 1 5 2 5 3 2j 2 3 1 2i 1 44 2 4 a w 10 s v b u 8 1 f w a 13 ' +
  'f 8w 534 1s h3k 1j 1j 2 7h 3 2r 1 a 1 37 6 8 n 9 2 2v 2 4d 4 a 4 1m 4 2e 2 14 3 1 1 1d 2 ' +
  '1b 1 2p d g 2 3g 4 n 3 2s 2 g 2 2x 1 e 2 3j 1 fnh 1 3s h aj i 3j 1 18 4 g a m 3 2 o 3 3 1 ' +
  'j 1 4 45 f a 7 q 4 1 1 q b 3e 7 1 7 d 2 76 3 1g 9 1l h 2 3 1 d 3 1 1b 19 bm 1 1c 1 bi 1 kn ' +
  '1 v 2 4m 1 v 1 7k 9 12 1 20 1 13 7 1u 7 2h 4 ls 1 4n 5 18 4 59 7 31 2 1 4 3i 4 1c 2 27 4 4 ' +
  '1 d 1 1 3 2g 6 2z 1 bl 5 a 2 1 1 2w 1 6y n 2x 3 s d 24 1 3m 4 6z 1 7c 3 4b 1 2k 8 2b 3 1 5 ' +
  '2l a 8n 5 16 2 hx 2 22 d 3p t d 1 vk 5 29o 2 bjv 2 3p 1 1t 9 4 2 nl 4 93 1 f5l 1 2 1 3ow ' +
  '38 1o 6u a 13 2 1o 5 3 m 2 7 u 4 1p l 1u 3 1 56 2f oa 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p ' +
  '1 1o e8 1j 4 1e 8 1 e 1 7 1c3 1 bz 1 19a 2 ng 1 3 1 3h 1 ch 2 7i 18 4 2s c f 2 f 1 f 1 11 ' +
  'n 4h 1k t d 18 4 9 7 2 e 6 4a rc 4 h 3 d 3 3b 4 2n 6 c 4 1 f c 4 1k 8 a 6 14 8 u 2 2 26 9g ' +
  'c e 2 d 3 9 7 1a 1 7 8 e 4 9 7 9 7 43 1 1j'

export const unspacedSpans =
  'kq 2 26t 1m 5 s 11 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 7 1 a 2 4 80 4g 1cw 2m 2 a 6 a 9i u 2 5 ' +
  'b 18 4 q 6 b 3 y w 1r 1 t 2 b 6 a 6 e 2a 25 3 1b 3r5 q 1 2h c 5y 1b 1 1 1 p 9 e 4 5 2e 6 3 ' +
  '1 2i 2 3 5 17 34 w 1c g 5s 1b 1 2g 4o 534 1s h3h 3 1j xl 26 2 a 4 x 2p 2r o 5 ffk a6 2 2y ' +
  'wc a 1 19 m6a 5 b 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 f 1 t 3 2 1 e 4 8 b0 cg4 1'

export const lowerCaseRuns =
  '1t q 1 w 3j n 1 w o 7 1 w 14 o 2 1 1c 1 1 -5j 2 3 2 1 7 8 2 1 h n 2 1 1a 1 1 -3d 1 3 2 1 8 ' +
  '1 1 5u 1 2 2 1 4 1 1 5q 1 1 1 1 2 2 1 5p 2 1 1 1 3 1 1 27 1 1 1 5m 1 1 1 5n 1 1 1 1 2 1 1 ' +
  '5p 1 1 1 5r 2 1 1 5v 1 1 1 5t 1 1 1 1 4 1 1 5v 1 1 1 5x 2 1 1 5y 1 3 2 1 6 1 1 62 1 1 1 1 ' +
  '2 1 1 62 3 1 1 1 2 1 1 62 1 1 1 1 2 2 1 61 2 2 2 1 4 1 1 63 1 1 1 1 4 1 1 1 8 1 1 2 1 1 1 ' +
  '1 2 1 1 2 1 1 1 1 2 1 1 2 1 9 2 1 j 9 2 1 j 1 1 2 1 2 2 1 4 1 1 -2p 1 1 1 -1k 1 k 2 1 14 1 ' +
  '1 -3m 2 9 2 1 o 1 1 8bv 1 1 1 1 2 1 1 -4j 1 1 1 8bs 3 1 1 1 2 1 1 -5f 1 1 1 1x 1 1 1 1z 1 ' +
  '5 2 1 8a 2 2 1 6 1 1 1 9 1 1 38 7 1 1 12 2 3 1 11 4 1 1 1s 2 2 1 1r 3 h 1 w i 9 1 w 18 1 1 ' +
  '8 9 c 2 1 s 1 1 -1o 3 1 1 1 2 1 1 -7 1 1 1 1 3 3 1 -3m 3 g 1 28 g w 1 w 28 h 2 1 16 r 2 1 ' +
  '1i 1 1 f 1 7 2 1 f 1c 2 1 2p 12 1 1c 29b 12 1 5ls 13 1 1 5ls 6 1 1 5ls k3 28 1 tzk 28 6 1 ' +
  '8 1pc 17 1 -2bk 19 3 1 -2bk 8z 23 2 1 4e 1 1 -5vj 2 1c 2 1 2w 8 1 -8 g 6 1 -8 g 8 1 -8 g 8 ' +
  '1 -8 g 6 1 -8 h 4 2 -8 f 8 1 -8 w 8 1 -8 g 8 1 -8 g 8 1 -8 g 2 1 -8 2 2 1 -22 2 1 1 -9 c 4 ' +
  '1 -2e 4 1 1 -9 c 2 1 -8 2 2 1 -2s e 2 1 -8 2 2 1 -34 2 1 1 -7 c 2 1 -3k 2 2 1 -3i 2 1 1 -9 ' +
  '8a 1 1 -5st 4 1 1 -6gv 1 1 1 -6di 7 1 1 s 1a g 1 g z 1 1 1 mr q 1 q 1fu 1c 1 1c 2o 1 1 1 2 ' +
  '1 1 -8af 1 1 1 -2xy 1 1 1 -89z 3 3 2 1 6 1 1 -8bg 1 1 1 -8al 1 1 1 -8bj 1 1 1 -8bi 2 1 1 1 ' +
  '3 1 1 1 9 2 1 -8cf 2 1e 2 1 2z 2 2 1 7 1 1 1 nym n 2 1 1s e 2 1 4i 7 2 1 g v 2 1 1z 2 2 1 ' +
  '4 1 1 -r9g 1 5 2 1 d 1 1 1 2 1 1 -wmg 3 2 2 1 6 a 2 1 k 1 1 -wn8 1 1 1 -wnj 1 1 1 -wnf 1 1 ' +
  '1 -wn5 1 1 1 -wn8 2 1 1 -wlu 1 1 1 -wmi 1 1 1 -wlx 1 1 1 ps 1 8 2 1 g 1 1 -1c 1 1 1 -wn7 1 ' +
  '1 1 -raw 1 2 2 1 9 1 1 1 6 2 2 1 v 1 1 1 h7w q 1 w yn 14 1 14 4w 10 1 14 5c b 1 13 c f 1 ' +
  '13 g 7 1 13 8 2 1 13 1d8 1f 1 1s 2e8 w 1 w gww w 1 w o8w y 1 y'
