import Fuzzing

/// What takes bytes from outside in `Codecs` and `Mixing`.
public enum MediaTargets {
    public static let all: [FuzzTarget] = [LayoutBody.target, SoundBody.target, PictureBody.target]
}
