    echo '{"continue":true}'
    exit 0
