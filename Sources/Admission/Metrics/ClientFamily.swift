/// The families of clients that join; the label of the metrics.
package enum ClientFamily: String, Sendable, CaseIterable {
    case native, whip, whep, appRTC = "apprtc", webRTCDemo = "webrtc_demo", rawTCP = "raw_tcp", socketIO = "socket_io"
}
