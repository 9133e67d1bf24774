#!/usr/bin/env python3
"""Turns preprocessed kernel text for NVIDIA GPUs into OpenCL C for a CPU: inline PTX becomes calls of emulate_... functions
(instructions.h), arrays in local memory become pointers, and each kernel gets an entry that takes its arguments as
pointers. usage: translate.py PRELUDE < text > text"""
import re
import sys

# PTX, white space taken out -> a call; %N are operands, &N their addresses.
INSTRUCTIONS = [
    (r'ex2\.approx\.ftz\.f32%0,%1;', '%0 = emulate_exp2(%1)'),
    (r'max\.f32%0,%1,%2;', '%0 = emulate_max(%1, %2)'),
    (r'shfl\.sync\.bfly\.b32%0,%1,%2,31,-1;', '%0 = emulate_shuffle(%1, %2)'),
    (r'shfl\.sync\.idx\.b32%0,%1,%2,31,-1;', '%0 = emulate_from_lane(%1, %2)'),
    (r'cvt\.rn\.(b?f16)x2\.f32%0,%1,%2;', r'%0 = emulate_pack_\1(%2, %1)'),
    (r'mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(b?f16)\.\1\.f32'
     r'\{%0,%1,%2,%3\},\{%4,%5,%6,%7\},\{%8,%9\},\{%0,%1,%2,%3\};',
     r'emulate_mma_\1(&0, &1, &2, &3, %4, %5, %6, %7, %8, %9)'),
    (r'ldmatrix\.sync\.aligned\.m8n8\.x4\.shared\.b16\{%0,%1,%2,%3\},\[%4\];', 'emulate_ldmatrix(&0, &1, &2, &3, %4, 0)'),
    (r'ldmatrix\.sync\.aligned\.m8n8\.x4\.trans\.shared\.b16\{%0,%1,%2,%3\},\[%4\];',
     'emulate_ldmatrix(&0, &1, &2, &3, %4, 1)'),
    (r'cp\.async\.cg\.shared\.global\[%0\],\[%1\],16,%2;', 'emulate_copy(%0, %1, %2)'),
    (r'cp\.async\.commit_group;', 'emulate_commit()'),
    (r'cp\.async\.wait_group([01]);bar\.sync0;', r'emulate_wait(\1)'),
    (r'\{\.reg\.predp;setp\.ne\.b32p,%1,0;bar\.red\.or\.predp,0,p;selp\.b32%0,1,0,p;\}', '%0 = emulate_any_item(%1)'),
    (r'\{\.reg\.predp;setp\.ne\.b32p,%1,0;vote\.sync\.any\.predp,p,-1;selp\.b32%0,1,0,p;\}', '%0 = emulate_any_lane(%1)'),
    (r'fence\.sc\.gpu;', '(void)0'),
    (r'st\.release\.gpu\.global\.u64\[%0\],%1;', '*(global ulong *)(%0) = %1'),
    (r'ld\.acquire\.gpu\.global\.u64%0,\[%1\];', '%0 = *(global const ulong *)(%1)'),
    (r'bar\.warp\.sync-1;', 'emulate_meet()'),
    (r'\{\.reg\.b16x,y;mov\.b32\{x,y\},%2;cvt\.f32\.f16%0,x;cvt\.f32\.f16%1,y;\}', 'emulate_unpack_f16(&0, &1, %2)'),
    # Hopper's
    (r'shfl\.sync\.idx\.b32%0,%1,0,31,-1;', '%0 = emulate_from_lane(%1, 0)'),
    (r'fence\.(mbarrier_init\.release\.cluster|proxy\..*);', '(void)0'),
    (r'wgmma\.fence\.sync\.aligned;', '(void)0'),
    (r'setmaxnreg\.(inc|dec)\.sync\.aligned\.u32\d+;', '(void)0'),
    (r'wgmma\.commit_group\.sync\.aligned;', 'emulate_wgmma_commit()'),
    (r'wgmma\.wait_group\.sync\.aligned(\d);', r'emulate_wgmma_wait(\1)'),
    (r'\{\.reg\.predp;\.reg\.b64da,db;setp\.ne\.b32p,([01]),0;mov\.b64da,\{%(\d+),0x40000040\};'
     r'mov\.b64db,\{%(\d+),0x40000040\};wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(b?)f16\.\5f16'
     r'\{[%\d,]+\},da,db,p,1,1,0,0;\}', r'emulate_wgmma(&0, \4, \1, sizeof("\5") - 1, %\2, %\3)'),
    (r'\{\.reg\.predp;\.reg\.b64da,db;setp\.ne\.b32p,1,0;mov\.b64db,\{%(\d+),0x40000040\};'
     r'wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(b?)f16\.\3f16'
     r'\{[%\d,]+\},\{%(\d+),%(\d+),%(\d+),%(\d+)\},db,p,1,1,1;\}',
     r'emulate_wgmma_held(&0, \2, sizeof("\3") - 1, &\4, &\5, &\6, &\7, %\1)'),
    (r'bar\.sync%0,%1;', 'emulate_named(%0, %1, 1)'),
    (r'bar\.arrive%0,%1;', 'emulate_named(%0, %1, 0)'),
    (r'mbarrier\.init\.shared::cta\.b64\[%0\],%1;', 'emulate_barrier_open(%0, %1)'),
    (r'mbarrier\.arrive\.shared::cta\.b64_,\[%0\];', 'emulate_barrier_arrive(%0, 0)'),
    (r'mbarrier\.arrive\.expect_tx\.shared::cta\.b64_,\[%0\],%1;', 'emulate_barrier_arrive(%0, %1)'),
    (r'\{\.reg\.predP1;\.reg\.b64from,now;mbarrier\.try_wait\.parity\.shared::cta\.b64P1,\[%0\],%1;.*trap;DN:\}',
     'emulate_barrier_wait(%0, %1)'),
    (r'cp\.async\.bulk\.tensor\.4d\.shared::cluster\.global\.mbarrier::complete_tx::bytes'
     r'\[%0\],\[%1,\{%3,%4,%5,%6\}\],\[%2\];', 'emulate_copy_box(%0, %1, %2, %3, %4, %5, %6)'),
    (r'stmatrix\.sync\.aligned\.m8n8\.x4\.shared\.b16\[%0\],\{%1,%2,%3,%4\};', 'emulate_stmatrix(%0, %1, %2, %3, %4)'),
    (r'\{\.reg\.b32x,y,z,w;ld\.shared\.v4\.b32\{x,y,z,w\},\[%1\];st\.global\.v4\.b32\[%0\],\{x,y,z,w\};\}',
     'emulate_store_unit(%0, %1)'),
    (r'\{\.reg\.b32x;ld\.shared\.b32x,\[%0\];xor\.b32x,x,(\w+);st\.shared\.b32\[%0\],x;\}', r'emulate_change(%0, \1)'),
    (r'st\.shared\.v2\.b32\[%0\],\{%1,%2\};', 'emulate_put(%0, %1, %2)'),
    (r'ld\.shared\.v2\.b32\{%0,%1\},\[%2\];', 'emulate_get((private uint *)&0, (private uint *)&1, %2)'),
    (r'atom\.relaxed\.gpu\.global\.add\.u64%0,\[%1\],1;', '%0 = (*(%1))++'),
    (r'atom\.relaxed\.gpu\.global\.cas\.b64%0,\[%1\],%2,%3;', '%0 = emulate_compare_and_set(%1, %2, %3)'),
    (r'prefetch\.global\.L2\[%0\];', '(void)(%0)'),
]
PATTERNS = [(re.compile(pattern + '$'), call) for pattern, call in INSTRUCTIONS]
PRELUDE = open(sys.argv[1]).read()


def scan(text, start=0):
    """(place, character, depth of brackets behind it) of what stands outside of quotes."""
    depth, quoted = 0, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"' and text[i - 1] != '\\':
            quoted = not quoted
        elif not quoted:
            depth += (c in '([{') - (c in ')]}')
            yield i, c, depth


def matching(text, at):
    """Behind the bracket that closes the one at `at`."""
    return next(i + 1 for i, c, depth in scan(text, at) if depth == 0)


def split(text, separator):
    """Parts of a text between separators outside of brackets and quotes."""
    cuts = [i for i, c, depth in scan(text) if depth == 0 and c == separator]
    return [text[i + 1:j] for i, j in zip([-1] + cuts, cuts + [len(text)])]


def instruction(inside):
    """The call that an asm statement's inside stands for."""
    sections = split(inside.replace('::', ': :'), ':')
    ptx = re.sub(r'\s+', '', ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', sections[0]))).replace('%%', '%')
    operands = []
    for section in sections[1:3]:
        for operand in split(section, ','):
            if operand.strip():
                operands.append(operand[operand.index('('):].strip())
    for pattern, call in PATTERNS:
        match = pattern.match(ptx)
        if match:
            call = match.expand(call.replace('%', '\x01').replace('&', '\x02'))
            call = re.sub('\x01(\\d+)', lambda m: operands[int(m[1])], call)
            return re.sub('\x02(\\d+)', lambda m: '&' + operands[int(m[1])], call)
    raise SystemExit('no emulation of: ' + ptx)


def without_asm(text):
    out, at = [], 0
    for match in re.finditer(r'\basm\s*(?:volatile\s*)?\(', text):
        if match.start() < at:
            continue
        end = matching(text, match.end() - 1)
        out += [text[at:match.start()], instruction(text[match.end():end - 1])]
        at = end
    return ''.join(out) + text[at:]


def entry(match):
    name, parameters = match[1], split(match[2], ',')
    kinds, casts = '', []
    for i, parameter in enumerate(p.strip() for p in parameters):
        type_ = re.sub(r'\w+$', '', parameter).strip()
        is_buffer = type_.startswith(('global', '__global'))
        kinds += 'p' if is_buffer else 'v'
        casts.append(f'*({type_.replace("const ", "") if not is_buffer else type_} private *)arguments[{i}]')
    return (f'constant char emulate_kinds_{name}[] = "{kinds}";\n'
            f'void emulate_call_{name}(private void *private *arguments) {{ {name}({", ".join(casts)}); }}\n')


text = without_asm(sys.stdin.read())
text = re.sub(r'\blocal (\w+) (\w+)\[([^;]*?)\](?:\s*__attribute__\(\(aligned\(\d+\)\)\))?;',
              r'local \1 *const \2 = (local \1 *)emulate_local(sizeof(\1) * (\3));', text)
text = re.sub(r'\(uint\)\(size_t\)(\w+)', r'emulate_address(\1)', text)
entries = ''.join(entry(m) for m in re.finditer(
    r'\bkernel\b(?:\s*__attribute__\(\((?:[^()]|\([^()]*\))*\)\))*\s*void\s+(\w+)\(([^)]*)\)\s*\{', text))
print(PRELUDE + text + entries)
