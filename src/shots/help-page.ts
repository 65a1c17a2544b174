import { drawText, type Paper } from '../help.ts';

/** The page of `gw help shots`: a storyboard from its file to the film. */
export const shots = (paper: Paper): string =>
  drawText(
    [
      'A shot goes on from another one: its first frame is the last frame of a video that was made before. Wherever a medium is ' +
        'taken, job:WHICH names an output of an earlier job (last: the newest that made something), and a part may follow: ' +
        '#video, #image, #audio, #first_frame, #last_frame, or #image.2 for the second of several.\n' +
        '  gw video alpha create "a fox wakes up" --sandbox --wait\n' +
        '  gw video alpha create "it runs" --first-frame job:last --sandbox --wait',
      'Without a part it is what the flag takes: the video, the image, or the last frame of a video. The last frame is the ' +
        "gateway's own where the task returned one (--return-last-frame), else your ffmpeg cuts it out; gw doctor names that. " +
        'The file is used as it was saved; one that is gone or was changed is saved again first.',
      'In a manifest row:ID names another row. A storyboard of five rows:\n' +
        "  printf '%s\\n' command,id,prompt,first-frame \\\n" +
        "    'image create,fox,a fox in the snow,' \\\n" +
        "    'video alpha,s1,the fox wakes up,row:fox' \\\n" +
        "    'video alpha,s2,it runs through the wood,row:s1' \\\n" +
        "    'video alpha,s3,it finds a frozen lake,row:s2' \\\n" +
        "    'video alpha,s4,it looks at the moon,row:s3' > story.csv\n" +
        '  gw batch check story.csv --sandbox\n' +
        '  gw batch run story.csv --sandbox -o "clips/{row}.{ext}"',
      'A row waits until the one that it names is saved, and holds no place meanwhile. Where that one fails, what follows is not ' +
        'sent and says why; once it is cured, --retry-failed goes on with the chain. Stopped and run again, nothing is made twice.',
      'A shot in the middle made anew, and all that follow it (without --following they are left as they are, and are stale):\n' +
        '  gw batch run story.csv --sandbox -o "clips/{row}.{ext}" --redo s2 --following --force\n' +
        '  gw batch status story.csv --sandbox',
      'The clips in one film, by ffmpeg:\n' +
        '  printf "file \'%s\'\\n" clips/[2-5].mp4 > clips.txt\n' +
        '  ffmpeg -y -loglevel error -f concat -safe 0 -i clips.txt -c copy story.mp4',
      'gw gallery shows what a clip was made from, and copies the command that continues it; gw jobs show ID tells it too.',
    ],
    paper,
  );
