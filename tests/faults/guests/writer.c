/*
 * A writer in another language, which knows of a spool only how to write to it: lock the file, append a line by one
 * write, unlock. It keeps the file open all the while, as a program that lives long does.
 *
 *     writer FILE NAME COUNT
 *
 * Every other line has a dedup key.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <unistd.h>

static long long milliseconds(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return now.tv_sec * 1000LL + now.tv_usec / 1000;
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    int file = open(words[1], O_APPEND | O_CREAT | O_WRONLY, 0600);
    if (file < 0)
        return perror("open"), 3;
    for (int number = 0; number < atoi(words[3]); number++) {
        char line[512], key[128] = "null";
        if (number % 2)
            snprintf(key, sizeof key, "\"key-%s-%d\"", words[2], number);
        int length = snprintf(line, sizeof line,
            "{\"id\":\"%s-%d\",\"type\":\"event\",\"source\":\"writer\",\"content\":\"word-%s-%d\",\"priority\":2,"
            "\"timestamp\":%lld,\"dedup_key\":%s,\"ttl_seconds\":0}\n",
            words[2], number, words[2], number, milliseconds(), key);
        if (flock(file, LOCK_EX) != 0)
            return perror("flock"), 3;
        ssize_t written = write(file, line, (size_t)length);
        flock(file, LOCK_UN);
        if (written != length)
            return perror("write"), 3;
    }
    return 0;
}
