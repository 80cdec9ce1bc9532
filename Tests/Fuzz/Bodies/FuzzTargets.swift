public import Fuzzing

/// All fuzz targets. `scripts/fuzz` runs the groups in parallel, and the targets of a group one after another.
public enum FuzzTargets {
    /// The groups, named after the module with most of the code under test.
    public static let groups: [(name: String, targets: [FuzzTarget])] = [
        (
            "peer",
            [
                DescriptionBody.target, CandidateBody.target, STUNBody.target, RTPBody.headers, RTPBody.sound,
                RTCPBody.target, VideoBody.target,
                SCTPBody.target, DTLSBody.target, FramingBody.target, ConnectionBody.target,
            ]
        ),
        ("media", [LayoutBody.target, AudioBody.target, PictureBody.target, ImageBody.target]),
        ("gateway", TextBodies.all + RequestBodies.all + SocketIOBodies.all + [AppRTCBody.target]),
        ("cluster", StoreBodies.all + NodeBodies.all),
    ]

    public static let all = groups.flatMap(\.targets)
}
