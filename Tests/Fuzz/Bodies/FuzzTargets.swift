public import Fuzzing

/// All that is fuzzed. `scripts/fuzz` runs the groups side by side, and the targets of a group one after another.
public enum FuzzTargets {
    /// Named after the module that most of their code is in.
    public static let groups: [(name: String, targets: [FuzzTarget])] = [
        (
            "peer",
            [
                DescriptionBody.target, CandidateBody.target, STUNBody.target, RTPBody.headers, RTPBody.sound,
                RTCPBody.target, VideoBody.target,
                SCTPBody.target, DTLSBody.target, FramingBody.target, ConnectionBody.target,
            ]
        ),
        ("media", [LayoutBody.target, AudioBody.target, PictureBody.target]),
        ("gateway", TextBodies.all + RequestBodies.all),
    ]

    public static let all = groups.flatMap(\.targets)
}
