import Fuzzing

/// Everything in `Peer` and `Sockets` that takes bytes from outside.
public enum PeerTargets {
    public static let all: [FuzzTarget] = [
        DescriptionBody.target, CandidateBody.target, STUNBody.target, RTPBody.headers, RTPBody.sound, RTCPBody.target, VideoBody.target,
        SCTPBody.target, DTLSBody.target,
        FramingBody.target, PeerBody.target,
    ]
}
