/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks for llclab's cache model, from inside of a program that runs in a guest.
 * A mark is a NOP of an unusual form: it costs nothing anywhere else.
 *
 *	llc_phase_begin("steady");
 *	... what is to be counted ...
 *	llc_phase_end();
 *
 * The same name again goes on with the same counts.  Phases do not nest, and one
 * program at a time should make marks: a message is a NOP per letter.
 */
#ifndef LLC_PHASE_H
#define LLC_PHASE_H

#ifdef __x86_64__
/* For each byte: nopl 0x4c4c43BB(%rax); ret - eight bytes of code */
asm(".pushsection .text.llc_phase_marks, \"axG\", @progbits, llc_phase_marks, comdat\n"
	".balign 8\n"
	".weak llc_phase_marks\n"
	".hidden llc_phase_marks\n"
	".type llc_phase_marks, @function\n"
	"llc_phase_marks:\n"
	".set llc_phase_byte, 0\n"
	".rept 256\n"
	".byte 0x0f, 0x1f, 0x80\n"
	".long 0x4c4c4300 + llc_phase_byte\n"
	"ret\n"
	".set llc_phase_byte, llc_phase_byte + 1\n"
	".endr\n"
	".popsection\n");

extern const char llc_phase_marks[] __attribute__((visibility("hidden")));

static inline void llc_phase_byte(unsigned char byte)
{
	((void (*)(void))(llc_phase_marks + 8 * byte))();
}
#else
static inline void llc_phase_byte(unsigned char byte)
{
	(void)byte;
}
#endif

/* One operation of what the program is there for; costs two instructions. */
static inline void llc_phase_op(void)
{
	llc_phase_byte(1);
}

static inline void llc_phase_text(const char *text)
{
	while (*text)
		llc_phase_byte(*text++);
}

/* One message: @verb, a space and @text unless that is empty, a zero. */
static inline void llc_phase_say(const char *verb, const char *text)
{
	llc_phase_text(verb);
	if (*text) {
		llc_phase_byte(' ');
		llc_phase_text(text);
	}
	llc_phase_byte(0);
}

static inline void llc_phase_begin(const char *name)
{
	llc_phase_say("begin", name);
}

static inline void llc_phase_end(void)
{
	llc_phase_say("end", "");
}

/* "--model process" counts what this process does, its threads and the kernel for it. */
static inline void llc_phase_process(void)
{
	llc_phase_say("process", "");
}

#endif
