"""What is in a recorded file, by ffmpeg's eyes and ears."""

import json
import subprocess

import numpy as np


def probe(path):
    output = subprocess.run(
        ["ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", str(path)], capture_output=True, text=True, check=True)
    return json.loads(output.stdout)


def frame_at(path, seconds, width=1280, height=720):
    output = subprocess.run(
        ["ffmpeg", "-v", "error", "-ss", str(seconds), "-i", str(path), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24",
         "-s", f"{width}x{height}", "-"], capture_output=True, check=True)
    return np.frombuffer(output.stdout, np.uint8).reshape(height, width, 3)


def sound(path):
    output = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-f", "f32le", "-ac", "1", "-ar", "48000", "-"], capture_output=True, check=True)
    return np.frombuffer(output.stdout, np.float32)


def decodes_cleanly(path):
    result = subprocess.run(["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-f", "null", "-"], capture_output=True, text=True)
    return result.returncode == 0 and not result.stderr.strip(), result.stderr[-2000:]
