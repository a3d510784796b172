/**
 * Unicode 15.0: case foldings (statuses C and F), White_Space, unassigned and default-ignorable
 * code points, and marks that are written in place of an ASCII one.
 *
 * Made by `scripts/make-case-folding.ts`; change that, never this. Numbers are in base 36;
 * `unicode-tables.ts` says how they are packed. Unicode data is copyright Unicode, Inc. and
 * used under the Unicode License.
 */

export const simpleFoldings =
  '1t q 1 w 38 1 1 lj b n 1 w o 7 1 w 14 o 2 1 1e 3 2 1 7 8 2 1 h n 2 1 1a 1 1 -3d 1 3 2 1 6 ' +
  '1 1 -7g 2 1 1 5u 1 2 2 1 4 1 1 5q 1 1 1 1 2 2 1 5p 2 1 1 1 3 1 1 27 1 1 1 5m 1 1 1 5n 1 1 ' +
  '1 1 2 1 1 5p 1 1 1 5r 2 1 1 5v 1 1 1 5t 1 1 1 1 4 1 1 5v 1 1 1 5x 2 1 1 5y 1 3 2 1 6 1 1 ' +
  '62 1 1 1 1 2 1 1 62 3 1 1 1 2 1 1 62 1 1 1 1 2 2 1 61 2 2 2 1 4 1 1 63 1 1 1 1 4 1 1 1 8 1 ' +
  '1 2 1 1 1 1 2 1 1 2 1 1 1 1 2 1 1 2 1 9 2 1 j 9 2 1 j 1 1 2 1 2 2 1 4 1 1 -2p 1 1 1 -1k 1 ' +
  'k 2 1 14 1 1 -3m 2 9 2 1 o 1 1 8bv 1 1 1 1 2 1 1 -4j 1 1 1 8bs 3 1 1 1 2 1 1 -5f 1 1 1 1x ' +
  '1 1 1 1z 1 5 2 1 73 1 1 38 17 2 2 1 6 1 1 1 9 1 1 38 7 1 1 12 2 3 1 11 4 1 1 1s 2 2 1 1r 3 ' +
  'h 1 w i 9 1 w v 1 1 1 d 1 1 8 1 1 1 -u 1 1 1 -p 4 1 1 -f 1 1 1 -m 2 c 2 1 o 1 1 -1i 1 1 1 ' +
  '-1c 3 1 1 -1o 1 1 1 -1s 2 1 1 1 2 1 1 -7 1 1 1 1 3 3 1 -3m 3 g 1 28 g w 1 w 28 h 2 1 16 r ' +
  '2 1 1i 1 1 f 1 7 2 1 f 1c 2 1 2p 12 1 1c 29b 12 1 5ls 13 1 1 5ls 6 1 1 5ls mj 6 1 -8 1oo 1 ' +
  '1 -4su 1 1 1 -4st 1 1 1 -4sk 1 2 1 -4si 2 1 1 -4sj 1 1 1 -4sc 1 1 1 -4ro 1 1 1 r7n 8 17 1 ' +
  '-2bk 19 3 1 -2bk 8z 23 2 1 4b 1 1 -1m 5 1c 2 1 2w 8 1 -8 g 6 1 -8 g 8 1 -8 g 8 1 -8 g 6 1 ' +
  '-8 h 4 2 -8 f 8 1 -8 28 2 1 -8 2 2 1 -22 4 1 1 -5j9 a 4 1 -2e g 2 1 -8 2 2 1 -2s e 2 1 -8 ' +
  '2 2 1 -34 2 1 1 -7 c 2 1 -3k 2 2 1 -3i 8c 1 1 -5st 4 1 1 -6gv 1 1 1 -6di 7 1 1 s 1a g 1 g ' +
  'z 1 1 1 mr q 1 q 1fu 1c 1 1c 2o 1 1 1 2 1 1 -8af 1 1 1 -2xy 1 1 1 -89z 3 3 2 1 6 1 1 -8bg ' +
  '1 1 1 -8al 1 1 1 -8bj 1 1 1 -8bi 2 1 1 1 3 1 1 1 9 2 1 -8cf 2 1e 2 1 2z 2 2 1 7 1 1 1 nym ' +
  'n 2 1 1s e 2 1 4i 7 2 1 g v 2 1 1z 2 2 1 4 1 1 -r9g 1 5 2 1 d 1 1 1 2 1 1 -wmg 3 2 2 1 6 a ' +
  '2 1 k 1 1 -wn8 1 1 1 -wnj 1 1 1 -wnf 1 1 1 -wn5 1 1 1 -wn8 2 1 1 -wlu 1 1 1 -wmi 1 1 1 ' +
  '-wlx 1 1 1 ps 1 8 2 1 g 1 1 -1c 1 1 1 -wn7 1 1 1 -raw 1 2 2 1 9 1 1 1 6 2 2 1 v 1 1 1 or ' +
  '28 1 -tzk gj5 q 1 w yn 14 1 14 4w 10 1 14 5c b 1 13 c f 1 13 g 7 1 13 8 2 1 13 1d8 1f 1 1s ' +
  '2e8 w 1 w gww w 1 w o8w y 1 y'

export const fullFoldings =
  '67:37,37 8g:2x,lj 95:jg,32 ds:2y,lo pc:qh,lk,ld q8:qt,lk,ld 13b:12d,136 61i:2w,mp ' +
  '61j:38,lk 61k:3b,lm 61l:3d,lm 61m:2p,ji 61q:37,37 66o:qt,lv 66q:qt,lv,lc 66s:qt,lv,ld ' +
  '66u:qt,lv,n6 680:64g,qh 681:64h,qh 682:64i,qh 683:64j,qh 684:64k,qh 685:64l,qh 686:64m,qh ' +
  '687:64n,qh 688:64g,qh 689:64h,qh 68a:64i,qh 68b:64j,qh 68c:64k,qh 68d:64l,qh 68e:64m,qh ' +
  '68f:64n,qh 68g:65c,qh 68h:65d,qh 68i:65e,qh 68j:65f,qh 68k:65g,qh 68l:65h,qh 68m:65i,qh ' +
  '68n:65j,qh 68o:65c,qh 68p:65d,qh 68q:65e,qh 68r:65f,qh 68s:65g,qh 68t:65h,qh 68u:65i,qh ' +
  '68v:65j,qh 68w:674,qh 68x:675,qh 68y:676,qh 68z:677,qh 690:678,qh 691:679,qh 692:67a,qh ' +
  '693:67b,qh 694:674,qh 695:675,qh 696:676,qh 697:677,qh 698:678,qh 699:679,qh 69a:67a,qh ' +
  '69b:67b,qh 69e:67k,qh 69f:q9,qh 69g:q4,qh 69i:q9,n6 69j:q9,n6,qh 69o:q9,qh 69u:67o,qh ' +
  '69v:qf,qh 69w:q6,qh 69y:qf,n6 69z:qf,n6,qh 6a4:qf,qh 6aa:qh,lk,lc 6ab:qh,lk,ld 6ae:qh,n6 ' +
  '6af:qh,lk,n6 6aq:qt,lk,lc 6ar:qt,lk,ld 6as:qp,lv 6au:qt,n6 6av:qt,lk,n6 6b6:67w,qh ' +
  '6b7:qx,qh 6b8:r2,qh 6ba:qx,n6 6bb:qx,n6,qh 6bg:qx,qh 1dkw:2u,2u 1dkx:2u,2x 1dky:2u,30 ' +
  '1dkz:2u,2u,2x 1dl0:2u,2u,30 1dl1:37,38 1dl2:37,38 1dlf:12s,12u 1dlg:12s,12d 1dlh:12s,12j ' +
  '1dli:132,12u 1dlj:12s,12l'

export const whiteSpace = '9 5 i 1 2s 1 q 1 4bj 1 1vj b t 2 5 1 1b 1 334 1'

export const unassigned =
  'oo 2 6 4 7 1 1 1 k 1 b1 1 12 2 1e 2 3 1 1j 8 r 4 6 b 7i 1 1o 2 2t e 1n 2 1d 2 f 1 s 2 1 1 ' +
  'b 5 v 1 2 6 6k 1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 p 2 3 1 6 4 2 2 m 1 7 1 2 ' +
  '1 2 1 2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 7 h a 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 ' +
  'c 7 7 1 3 1 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 2 i a 2 1 6 3 3 1 4 3 2 1 1 1 2 ' +
  '3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 e l 5 d 1 3 1 n 1 g 2 9 1 3 1 4 7 2 1 3 2 1 2 4 2 a 7 m 1 ' +
  '3 1 n 1 a 1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 3 c d 1 3 1 1f 1 3 1 6 4 g 2 q 1 3 1 i 3 o 1 9 ' +
  '1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 3 c 1m 4 t 11 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 7 1 a 2 4 w 20 ' +
  '1 10 4 13 1 10 1 f 1 d 11 5i 1 1 5 1 2 ah 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f ' +
  '1 1l 1 4 2 1v 2 w 3 q 6 2e 2 6 2 il 3 2h 7 m 9 o 9 k c d 1 3 1 2 c 2m 2 a 6 a 6 q 6 2h 7 ' +
  '17 5 1y a v 1 c 4 c 4 1 3 16 2 5 b 18 4 q 6 b 3 1q 2 1t 1 t 2 b 6 a 6 e 2 v 1d 25 3 1b 1 ' +
  '38 8 1o 3 f 3 1o 7 17 2 b 8 17 5 eu 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 f 1 e 2 6 1 j ' +
  '2 3 1 9 1 2t 1 c 2 r 1 d 3 x f x f 3w 4 if p b l 1ec 2 w 1 9p 5 19 1 1 5 1 2 1k 7 2 e o 9 ' +
  '7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 3i y q 1 2h c 5y q c 4 1s 1 2e 2 2v 5 17 1 2m 1 2c c 1b 1 ' +
  'mlp 3 1j 9 9o k 54 8 5n 5 2 1 1 1 5 o 1n 3 a 6 1k 8 1y 8 c 6 38 b u 3 26 1 b 4 x 1 1j 9 e ' +
  '2 a 2 2v o s a 6 2 6 2 6 9 7 1 7 1 1o 4 3i 2 a 6 8mc c n 4 1d 4 6su 2 2y 12 7 c 5 5 q 1 5 ' +
  '1 1 1 2 1 2 1 3h g cd 2 1i 7 1 w 16 6 1f 1 j 1 4 4 5 1 3r 2 1 1 5a 3 6 2 6 2 6 2 3 3 7 1 7 ' +
  'a 5 2 c 1 q 1 j 1 2 1 f 2 e y 3f 5 3 4 19 3 2g 1 d 3 1 1b 1a 3m t 3 1d f s 4 10 9 u 5 17 5 ' +
  'u 1 11 4 e 16 4e 2 a 6 10 4 10 4 14 8 1g b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o 6 ' +
  '1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n 1 20 8 9 1c j 1 2 5 x 3 r 5 1 1s 1k 4 k 2 1e 1 2 5 8 1 ' +
  '3 1 t 2 3 4 a 7 9 7 1s w 13 4 c 9 1i 3 t 2 r 5 q 7 4 c 7 28 21 1j 1f d 1f 7 1a 8 a 86 v 1 ' +
  '16 1 3 2 2 23 17 8 16 m q 12 s k n 9 26 4 10 9 1w a 1 2 p 7 a 6 1h 1 i 8 13 9 2o 1 k b i 1 ' +
  '1b 1q 7 1 1 1 4 1 f 1 b 6 1n 5 a 6 4 1 8 2 2 2 m 1 7 1 2 1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 ' +
  '5 3v 2k 1 5 u 20 8 a 4m 1i 2 12 y 1x b a 6 d j 1m 6 a 1i r 2 f 4 n 55 1o 2s 2b c 8 2 1 2 8 ' +
  '1 2 1 u 1 2 2 c 9 a 1y 8 2 1a 2 b r 20 8 2b d 21 7 a 6u 9 1 19 1 e a t 3 w 2 m 1 e 21 7 1 ' +
  '2 1 18 3 1 1 2 1 9 8 a 6 6 1 2 1 11 1 2 1 6 7 a 8m p 7 h 1 15 3 s 2e 1 f 1e d pn 2u 33 1 5 ' +
  'b 5g 218 2r d uu 33e g7 6nt ft 7 v 1 a 4 29 1 a 6 u 2 6 a 1y a a 1 7 1 l 5 j j4 2j 2t 23 4 ' +
  '1l 7 h 1s 5 b 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 f 1 t 3 2 1 e 4 8 b0 1s4 2z 5 d 3 9 7 a ' +
  '2 8 3mk 1a 2 n 9 38 1o 6u a 13 2 5e l 1y 3e k c k c 2f 9 p 3r 2d 1 1z 1 2 2 1 2 2 2 4 1 c ' +
  '1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 84 2 ji f 5 1 f uo v 6 6 5x 7 1 h 2 7 ' +
  '1 2 1 5 5 1q x 1 34 19 3 e 2 a 4 2 8w v h 1m 5 1 cw 16 km 7 1 4 1 2 1 f 1 5h 2 g 15 24 4 a ' +
  '4 2 lt 1w 24 1p 5e 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 ' +
  '1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 1g 2 7i 18 4 2s c f 2 f 1 f 1 11 ' +
  'a 4u 1k t d 18 4 9 7 2 e 6 4a rc 4 h 3 d 3 3b 4 2n 6 c 4 1 f c 4 1k 8 a 6 14 8 u 2 2 26 9g ' +
  'c e 2 d 3 9 7 1a 1 7 8 e 4 9 7 9 7 43 1 1j 11 a sm wyo w 37e 6 66 2 4g2 e 5rl 2e7 f2 15u ' +
  '3t7 5 38g f975 1 u 2o 3k 6o 1e6o 1eke 2 1eke 2'

export const ignorable =
  '4t 1 ip 1 jw 1 282 2 18z 2 2d 5 1kr 5 q 5 1d g 3ck 1 14ez g 6n 1 4g 1 27 9 119j 4 43z 8 ' +
  'h405 35s'

export const asciiMarks =
  '4r:y g:y e6:13 2:13 1:13 im:13 2:x 1:18 1:1r 17:1a 1:19 1g:19 1h:13 1:y o:18 f:1n 2:1a ' +
  '1:1a 1:1r 51:1a 18:1a 1:1a 1:1a 1:1m 1:1m 1:1m 6r:18 1:x 1q:1a 2:1a 4:1a 1:1a 86:1a 1:1a ' +
  '1d1:1a 1:1a lz:1a 1:18 1:1n 1:1m 1:1m 1:1r 1:1a 48:19 ha:1a 5j:1a 1:1a 5o:18 1:1a 1:1m ' +
  '2:19 2:18 1:1a 8r:x 1:1r 9v:1a 1:1a 1:1a 1:1a 4v:1a 1:1a 3:1a 1:1a u:1a 1:1a 59:1a 1:1a ' +
  '1u:1a 1:1a pd:19 2:19 1:19 1:19 1:19 3:13 1:13 1:13 1:13 1:y 1:y 1:y 1:y j:13 7:13 1:13 ' +
  'l:1n 4:3i cf:19 25j:1a 1:1r 1:1r 3:1a 7t:19 3:19 k:1r 4:18 2:18 1:1n 5:19 1:19 1:1a 4:19 ' +
  '1:18 1:y 7:18 3:18 7:x 1:1r 9:19 bo:18 1:1a 6:13 1:13 1:y 1:y 1:y 1:y 1:y 1:y 1:2j 1:2l ' +
  '3:2j 1:2l 1:2j 1:2l 1:2j 1:2l 1:2j 1:2l 1:3i 1:y 1:y 1:y h:3i 34:19 mzi:18 1:1a 7i:18 1:1a ' +
  '1:1r 6c:1a 1:1m 1:18 1:1n 1:1r an:1a 1:1a 2f:1a 1:1a 2o:1a 49:1a 1:1a 44:1a 1:1a 1:1a ' +
  '41:1a 1:1a 6y:1a inf:1a 1:1a uu:19 4o:1a 1:1a 1:1a 1:1a 1:1a 19:1a 1:1a 1:1a 1:1a 5a:1a ' +
  '1:1a 3a:1a 1:1a 1:1a 1:1a 3k:1a 1:1a 1:1r 3m:1a 1:1a 7:1a h:1a 1:1a 2h:1a 1:1a 2:1a 1:1a ' +
  '31:1a bm:1a 1:1a 1:18 d:18 a0:1a 1:1a 6:1a 1:1a 1:1a 1:1a 1:1a 1:1a 1:1a 1:1a 1:1a 1:1a ' +
  '1:1a 1:1a 1:1a 1:1a 1:1a 2y:1a 1:1a 6y:1a 1:1a 1:1a ee:1a 2:1a 70:1a 1:1a 2g:1a 1:1a bp:1a ' +
  '1:1a j9:1a 1:1a 23:1a 1:1a 10t:1m 1:1m dto:1a 1:1a 3q:1a 1u:1a 1:1a c:1a nn:18 1:1a fev:1a ' +
  '5wo:18 1:1a 1:1n 1:1m'
