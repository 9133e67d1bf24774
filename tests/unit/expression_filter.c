// Reads expressions, one a line, and writes what each is, or `error`: for comparison with Python.
#include <stdio.h>
#include <string.h>

#include <flashcl/search.h>

int main(void)
{
    static const char *const names[] = {"A", "B", "C", "W"};
    const struct fcl_value values[] = {fcl_value_integer(12), fcl_value_integer(-5),
                                       fcl_value_real(2.5), fcl_value_text("row")};
    char line[4096], answer[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        fcl_expression *expression = NULL;
        struct fcl_value value;
        if (fcl_expression_compile(line, names, 4, &expression, NULL, 0) == FCL_OK &&
            fcl_expression_evaluate(expression, values, &value, NULL, 0) == FCL_OK) {
            fcl_value_format(&value, answer, sizeof answer);
            printf("%d %s\n", (int)value.kind, answer);
        } else {
            printf("error\n");
        }
        fcl_expression_destroy(&expression);
    }
    return 0;
}
